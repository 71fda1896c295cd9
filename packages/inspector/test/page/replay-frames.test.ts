import { describe, expect, it } from 'vitest';
import { frameAt } from '../../page/graph/replay-frames.js';
import type { RequestDetails, ScopeSpan, Step } from '../../src/wire.js';

const REQUEST = 'application > request';
const TRANSACTION = 'application > request > transaction';

const step = (kind: Step['kind'], span?: number, key?: string): Step => ({
  kind,
  at: 0,
  ...(span !== undefined && { span }),
  ...(key !== undefined && { key }),
});

function request(spans: readonly ScopeSpan[], steps: readonly Step[]): RequestDetails {
  return { spans, steps } as RequestDetails;
}

describe('a frame of a replay', () => {
  const closed = request(
    [
      { box: REQUEST, opened: 0, closed: 9 },
      { box: TRANSACTION, opened: 1, closed: 8 },
    ],
    [
      step('scope opened', 0),
      step('created', undefined, 'IPool'),
      step('scope opened', 1),
      step('created', 1, 'IOrders'),
      step('failed', 1, 'IMail'),
      step('disposed', 1, 'IOrders'),
      step('scope closed', 1),
      step('responded', 0),
      step('scope closed', 0),
    ],
  );
  const keys = (position: number) => frameAt(closed, position).created.map(({ key }) => key);

  it('has the scopes that are open at that step, in whatever order steps are visited', () => {
    const open = [8, 6, 2, 0].map((position) => [...frameAt(closed, position).open]);
    expect(open).toEqual([[], [REQUEST], [REQUEST, TRANSACTION], [REQUEST]]);
  });

  it('has the services that are created and not disposed', () => {
    expect([0, 1, 3, 5].map(keys)).toEqual([[], ['IPool'], ['IPool', 'IOrders'], ['IPool']]);
  });

  it('has the services that could not be created', () => {
    expect([frameAt(closed, 3).failed, frameAt(closed, 4).failed]).toEqual([[], [{ box: TRANSACTION, key: 'IMail' }]]);
  });

  it('is empty after the last step', () => {
    expect(frameAt(closed, 9)).toEqual({ open: new Set(), left: new Set(), created: [], failed: [] });
  });

  it('has from the response on what stays open, also after the last step', () => {
    const leaking = request(
      [{ box: REQUEST, opened: 0 }],
      [step('scope opened', 0), step('created', 0, 'IUsers'), step('responded', 0)],
    );
    expect([1, 2, 3].map((position) => [...frameAt(leaking, position).left])).toEqual([[], [REQUEST], [REQUEST]]);
    expect(frameAt(leaking, 3).created.map(({ key }) => key)).toEqual(['IUsers']);
  });
});
