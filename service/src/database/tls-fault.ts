/** The driver's message when the server does not support TLS. */
const NO_TLS = 'The server does not support SSL connections';
/** Node's codes for certificates and keys that are refused or invalid. */
const REFUSED = /^(?:CERT_|(?:DEPTH_ZERO_)?SELF_SIGNED_|UNABLE_TO_|ERR_(?:TLS_CERT|OSSL_))/;
/** A file that cannot be read. A lost connection also fails with `read`, and a missing socket file with `connect`. */
const FILE_CALLS: ReadonlySet<unknown> = new Set(['open', 'read']);
const FILE_CODES: ReadonlySet<unknown> = new Set(['EACCES', 'EISDIR', 'ENOENT', 'ENOTDIR', 'EPERM']);

/** Whether a TLS setting of `DATABASE_URL` has to be corrected; of several hosts, for each of them. */
export function isTlsFault(error: unknown): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isTlsFault);
  if (!(error instanceof Error)) return false;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  const isFileFault = FILE_CALLS.has(syscall) && FILE_CODES.has(code);
  return error.message === NO_TLS || isFileFault || REFUSED.test(code) || isTlsFault(error.cause);
}
