import { channel } from 'node:diagnostics_channel';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Registration, singleton } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import { PoolUsage } from '../src/pool-usage.js';
import { createApp } from './support/app.js';

let size: { open: number; idle: number; waiting: number };
let usage: PoolUsage;
let stop: () => void;

beforeEach(() => {
  size = { open: 4, idle: 4, waiting: 0 };
  const pool = { size } as unknown as IDatabasePool;
  const app = createApp().addRegistration(
    Registration.fromFactory(() => pool)
      .pipe(singleton())
      .to('IDatabasePool'),
  );
  usage = new PoolUsage(app);
  stop = usage.watch();
});
afterEach(() => stop());

const checkOut = (idle: number, waiting: number): void => {
  Object.assign(size, { idle, waiting });
  channel('ambit:connection:acquired').publish({ milliseconds: 0 });
};

it('is the most at any check-out since the last message, also where somebody else has asked meanwhile', () => {
  checkOut(1, 2);
  checkOut(4, 0);
  expect(usage.now()).toMatchObject({ mostInUse: 3, mostWaiting: 2 });
  expect(usage.take()).toMatchObject({ open: 4, idle: 4, mostInUse: 3, mostWaiting: 2 });
  expect(usage.take()).toMatchObject({ mostInUse: 0, mostWaiting: 0 });
});
