import { lifetimes } from '@ambit/container';

/** The service's scopes, the outermost first, and the functions that make the entries of its graph. */
export const { of, make, value, alias, registered, feature, when, build } = lifetimes(
  'application',
  'request',
  'transaction',
);
