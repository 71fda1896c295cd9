// A command: one scope, one transaction, and Ctrl+C rolls back.
//   node command.js --id 7 --amount 20
import { parseArgs } from 'node:util';
import type { Container } from '@ambit/container';
import { inScope } from '@ambit/container/work';
import { createApp, pay } from './payments.ts';
import { isProgram } from './program.ts';

/** Exits with 0, with 1 after a failure, with 2 for wrong arguments, with 130 after Ctrl+C. Nothing is retried: run it again. */
export async function runCommand(app: Container, args: readonly string[], interrupted: AbortSignal): Promise<number> {
  try {
    const { values } = parseArgs({ args: [...args], options: { id: { type: 'string' }, amount: { type: 'string' } } });
    const payment = { id: values.id ?? '', amount: Number(values.amount) };
    if (!payment.id || !Number.isInteger(payment.amount)) throw new TypeError('Say which --id and what --amount');
    await app.start();
    await inScope(app, { tags: ['command'], signal: interrupted }, (scope, signal) => pay(scope, payment, signal));
    console.log(`Paid ${payment.amount} for ${payment.id}`);
    return 0;
  } catch (error) {
    if (interrupted.aborted) return 130;
    console.error((error as Error).message);
    return error instanceof TypeError ? 2 : 1;
  } finally {
    await app.dispose();
  }
}

if (isProgram(import.meta.filename)) {
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupt.abort());
  process.exitCode = await runCommand(createApp(), process.argv.slice(2), interrupt.signal);
}
