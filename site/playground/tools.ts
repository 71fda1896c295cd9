export * from '@ambit/container/tools';
export { verify } from './observed.js';
