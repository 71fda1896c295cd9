import { describe, expect, it, test } from 'vitest';
import { saysNothingStored } from '../src/sql-state.js';
import { translated } from '../src/postgres/language.js';
import { StatementNames } from '../src/postgres/driver.js';

const said = (severity: string, code: string): Error =>
  Object.assign(new Error('server conn crashed?'), { severity, code });

describe('what PgBouncer takes its leave with, which is 08P01 whatever the reason', () => {
  it('is a lost connection', () => {
    expect(translated(said('FATAL', '08P01'), false)).toMatchObject({
      code: 'AMBIT_TX_CONNECTION_LOST',
      sqlState: '08006',
      status: 503,
    });
  });

  it('is not confused with a wrong number of parameters, of which PostgreSQL says the same and stays', () => {
    expect(translated(said('ERROR', '08P01'), false)).toMatchObject({
      code: 'AMBIT_TX_STATEMENT_FAILED',
      sqlState: '08P01',
    });
  });
});

test('the statement mode of PgBouncer, where nothing can be committed or rolled back, is no outage', () => {
  const error = Object.assign(said('FATAL', '08P01'), {
    message: 'transaction blocks not allowed in statement pooling mode',
  });
  expect(translated(error, true)).toMatchObject({ code: 'AMBIT_TX_UNSUPPORTED', status: 500, cause: error });
});

describe('what PostgreSQL takes its leave with', () => {
  it.each([
    ['FATAL', '53200'],
    ['PANIC', '53100'],
  ])('is no last word on a COMMIT: %s %s', (severity, code) => {
    const error = translated(said(severity, code), false);
    expect(error).toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST', sqlState: '08006' });
    expect(saysNothingStored(error)).toBe(false);
  });

  it('is one where it got no response to COMMIT', () => {
    const error = translated(said('FATAL', '25P03'), false);
    expect(error).toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST', sqlState: '25P03' });
    expect(saysNothingStored(error)).toBe(true);
  });

  it('may say that the transaction can be run again', () => {
    expect(translated(said('FATAL', '40001'), false)).toMatchObject({ retryable: true });
  });
});

describe('the name of a prepared statement', () => {
  it('is the same in every process, whatever was prepared before', () => {
    const [one, other] = [new StatementNames(), new StatementNames()];
    other.nameOf('DELETE FROM users');

    expect(one.nameOf('SELECT 1')).toBe(other.nameOf('SELECT 1'));
    expect(one.nameOf('SELECT 1')).not.toBe(other.nameOf('DELETE FROM users'));
  });
});
