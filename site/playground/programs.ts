import captive from './programs/captive-dependency.ts?text';
import circular from './programs/circular-dependency.ts?text';
import disposal from './programs/disposal.ts?text';
import transaction from './programs/transaction.ts?text';

/** The examples, the first of which is there when the page opens. */
export const programs = [
  { name: 'A captive dependency is refused', text: captive },
  { name: 'A scope is disposed', text: disposal },
  { name: 'Application, request, transaction', text: transaction },
  { name: 'A circular dependency', text: circular },
] as const;
