/**
 * An invalid option of `inspectorMiddleware()`, `inspectorPlugin()` or `Inspector`.
 *
 * @example
 * ```ts
 * const isOptionError = (error: unknown): boolean => error instanceof InspectorError && error.code === 'AMBIT_INSPECTOR_OPTION';
 * ```
 */
export class InspectorError extends Error {
  /** Tells it from other errors where `instanceof` cannot, as between two copies of this package. */
  override readonly name = 'InspectorError';
  /** What happened; the only code of this package. */
  readonly code = 'AMBIT_INSPECTOR_OPTION';

  /**
   * Words the message.
   *
   * @param problem - names the option, and what it accepts
   */
  constructor(problem: string) {
    super(withLink(problem, 'AMBIT_INSPECTOR_OPTION'));
  }
}

/** Every message ends with its code, and with the heading of docs/errors.md that explains it. */
function withLink(message: string, code: string): string {
  return `${message} [${code}, see docs/errors.md#${code.toLowerCase()}]`;
}
