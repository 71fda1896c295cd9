/**
 * An option of `inspector()` that cannot be.
 *
 * @example
 * ```ts
 * const isOptionError = (error: unknown): boolean => error instanceof InspectorError && error.code === 'AMBIT_INSPECTOR_OPTION';
 * ```
 */
export class InspectorError extends Error {
  override readonly name = 'InspectorError';
  readonly code = 'AMBIT_INSPECTOR_OPTION';

  constructor(problem: string) {
    super(`AMBIT_INSPECTOR_OPTION: ${problem}`);
  }
}
