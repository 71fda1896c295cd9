export { HttpError, type HttpErrorCode, type ProblemDetails, problemOf, type ProblemResponse } from '@ambit/http';
export {
  APPLICATION_CONTAINER,
  AmbitModule,
  type AmbitModuleAsyncOptions,
  type AmbitModuleOptions,
} from './ambit-module.js';
export { InScope } from './in-scope.js';
export { InjectScoped, scopedProvider } from './inject-scoped.js';
export { Transactional, type TransactionalOptions } from './transactional.js';
