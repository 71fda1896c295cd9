export type { TenantScopesOptions } from './options.js';
export { TenantScopes } from './tenant-scopes.js';
