/** The driver's message when the server does not support TLS. */
const NO_TLS = 'The server does not support SSL connections';
/** Node's codes for certificates and keys that are refused or invalid. */
const REFUSED = /^(?:CERT_|(?:DEPTH_ZERO_)?SELF_SIGNED_|UNABLE_TO_|ERR_(?:TLS_CERT|OSSL_))/;

/** Whether a TLS setting of `DATABASE_URL` has to be corrected; of several hosts, for each of them. */
export function isTlsFault(error: unknown): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isTlsFault);
  if (!(error instanceof Error)) return false;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  // A certificate file cannot be opened, or is a folder. Sockets are never opened: their calls are `connect` and `read`.
  const isFileFault = syscall === 'open' || code === 'EISDIR';
  return error.message === NO_TLS || isFileFault || REFUSED.test(code) || isTlsFault(error.cause);
}
