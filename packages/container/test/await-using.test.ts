import { describe, expect, it } from 'vitest';
import { Container } from '../src/index.js';
import { failing, logged } from './support/disposers.js';

const request = () => new Container().createScope({ tags: ['request'] });

describe('await using', () => {
  it('disposes the scope with the block', async () => {
    const log: string[] = [];
    {
      await using scoped = request().addRegistration(logged(log, 'IUsers').to('IUsers'));
      scoped.resolve('IUsers');
      log.push('the work');
    }
    expect(log).toEqual(['the work', 'IUsers']);
  });

  it('disposes the scope when the block throws, and rethrows the error', async () => {
    const log: string[] = [];
    const work = async () => {
      await using scoped = request().addRegistration(logged(log, 'IUsers').to('IUsers'));
      scoped.resolve('IUsers');
      throw new RangeError('the work failed');
    };
    await expect(work()).rejects.toThrow(RangeError);
    expect(log).toEqual(['IUsers']);
  });

  it('keeps both errors when the block throws and a disposer fails', async () => {
    const [worse, bad] = [new Error('the disposer failed'), new Error('the work failed')];
    const work = async () => {
      await using scoped = request().addRegistration(failing(worse).to('IUsers'));
      scoped.resolve('IUsers');
      throw bad;
    };
    const error: unknown = await work().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'SuppressedError', suppressed: bad });
    expect((error as SuppressedError).error).toMatchObject({ code: 'AMBIT_DISPOSE_FAILED', errors: [worse] });
  });
});
