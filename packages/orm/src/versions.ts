import { TransactionError } from '@ambit/transaction';

/**
 * Checks that a library has what its adapter is made of. An import of a name that is missing would be a SyntaxError that says
 * nothing of versions, so such names are read from the namespace of the module, behind this check.
 *
 * @param library - the name of its package
 * @param works - the versions that work
 * @param values - what has to be there
 */
export function checkExports(library: string, works: string, values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) continue;
    const what = `The version of ${library} that is installed has no ${name}. Install ${works}: docs/guides/versions.md lists what works`;
    throw new TransactionError('AMBIT_TX_VERSION', what);
  }
}
