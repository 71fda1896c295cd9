import { beforeEach, describe, expect, it, vi } from 'vitest';
import { runCommand } from '../command.js';
import { type PaymentsApp, paymentsApp } from './support/payments.js';
import { fileOf, run } from '../../test/support/program.js';

const args = ['--id', 'coffee', '--amount', '4'];
const never = new AbortController().signal;

describe('command', () => {
  let payments: PaymentsApp;
  beforeEach(async () => {
    payments = await paymentsApp();
    vi.spyOn(console, 'error').mockReturnValue();
    vi.spyOn(console, 'log').mockReturnValue();
    return () => vi.restoreAllMocks();
  });

  it('pays in one scope and one transaction, disposes the application and exits with 0', async () => {
    expect(await runCommand(payments.app, args, never)).toBe(0);
    expect(console.log).toHaveBeenCalledExactlyOnceWith('Paid 4 for coffee');
    expect(await payments.stored()).toEqual([{ id: 'coffee', amount: 4 }]);
    expect(payments.app.disposed).toBe(true);
    payments.expectNoOpenScopes();
  });

  it('says what failed, stores nothing and exits with 1', async () => {
    payments.bank.failOnce();
    expect(await runCommand(payments.app, args, never)).toBe(1);
    expect(console.error).toHaveBeenCalledExactlyOnceWith('The bank is closed');
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('rolls back at Ctrl+C and exits with 130', async () => {
    const { reached } = payments.bank.holdOnce();
    const interrupt = new AbortController();
    const exitCode = runCommand(payments.app, args, interrupt.signal);
    await reached;
    interrupt.abort();
    expect(await exitCode).toBe(130);
    expect(await payments.stored()).toEqual([]);
    expect(payments.app.disposed).toBe(true);
    payments.expectNoOpenScopes();
  });

  it.each([[['--id', 'coffee']], [['--amount', '4']], [['--id', 'coffee', '--amount', 'four']], [['--refund']]])(
    'exits with 2 for %j',
    async (wrong) => {
      expect(await runCommand(payments.app, wrong, never)).toBe(2);
      expect(payments.bank.charged).toEqual([]);
      expect(payments.app.disposed).toBe(true);
    },
  );

  it('is a program', async () => {
    const { code, output, errors } = await run([fileOf('recipes/command'), ...args]).ended();
    expect({ code, output, errors }).toEqual({ code: 0, output: 'Paid 4 for coffee\n', errors: '' });
  });
});
