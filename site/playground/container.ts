export * from '@ambit/container';
export { Container } from './observed.js';
