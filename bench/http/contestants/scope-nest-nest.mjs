export { contestant } from './scope-express-nest.mjs';
