import type { IDatabasePool } from '@ambit/transaction';
import type { BatchObservableResult, Meter } from '@opentelemetry/api';

/** Reports the size of the pool at each collection. Returns the function that stops it. */
export function watchPool(meter: Meter, pool: Pick<IDatabasePool, 'size'>): () => void {
  const connections = meter.createObservableUpDownCounter('db.client.connection.count', {
    description: 'Connections of the pool, by state',
    unit: '{connection}',
  });
  const pending = meter.createObservableUpDownCounter('db.client.connection.pending_requests', {
    description: 'Callers that wait for a connection',
    unit: '{request}',
  });
  const observe = (result: BatchObservableResult): void => {
    const { size } = pool;
    if (!size) return;
    result.observe(connections, size.open - size.idle, { 'db.client.connection.state': 'used' });
    result.observe(connections, size.idle, { 'db.client.connection.state': 'idle' });
    result.observe(pending, size.waiting);
  };
  meter.addBatchObservableCallback(observe, [connections, pending]);
  return () => meter.removeBatchObservableCallback(observe, [connections, pending]);
}
