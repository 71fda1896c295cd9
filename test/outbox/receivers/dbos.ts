import type { Deliver, OutboxEvent } from '@ambit/outbox';
import type { DBOSClient } from '@dbos-inc/dbos-sdk';
import { Pool } from 'pg';

type Workflow = Parameters<DBOSClient['enqueue']>[0];

/**
 * The `systemDatabasePool` of the client. On a line that is dead a statement fails within 5 s, the server rolls back the transaction that was
 * left open there, whose locks would keep the event from being enqueued elsewhere, and the connection is used no longer than 30 s.
 */
export function openDbosPool(connectionString: string): Pool {
  const limits = { query_timeout: 5000, connectionTimeoutMillis: 5000, idle_in_transaction_session_timeout: 5000 };
  const pool = new Pool({ connectionString, ...limits, maxLifetimeSeconds: 30 });
  return pool.on('error', () => undefined); // of a connection that nobody uses; the pool removes it
}

/** Enqueues a workflow for each event. DBOS keeps one for each `workflowID`, for as long as its row is in the table. */
export function toDbos(client: DBOSClient, workflowOf: (event: OutboxEvent) => Workflow): Deliver {
  return (event) => client.enqueue({ ...workflowOf(event), workflowID: event.id }, event.payload);
}
