import type { JsonResponse } from './http.js';
import type { Stage } from './stage.js';

interface Levels {
  readonly [productId: string]: number;
}

export async function setStock(stage: Stage, levels: Levels): Promise<void> {
  for (const [productId, level] of Object.entries(levels))
    await stage.rows('INSERT INTO stock (product_id, level) VALUES ($1, $2)', [productId, level]);
}

export async function stockOf(stage: Stage): Promise<Levels> {
  const rows = await stage.rows<{ id: string; level: number }>('SELECT product_id AS id, level FROM stock');
  return Object.fromEntries(rows.map(({ id, level }) => [id, level]));
}

/** The reservations of a request, with numbers on both databases. */
export function reservations(stage: Stage, requestId: string | null): Promise<object[]> {
  return stage.rows(
    `SELECT product_id AS product, CAST(quantity AS integer) AS quantity FROM reservations
     WHERE request_id = $1 ORDER BY product_id`,
    [requestId],
  );
}

export const order = (
  stage: Stage,
  ...wanted: readonly (readonly [string, number])[]
): Promise<JsonResponse<unknown>> =>
  stage.post('/api/orders', { items: wanted.map(([productId, quantity]) => ({ productId, quantity })) });

export const requestIdOf = ({ headers }: JsonResponse<unknown>): string | null => headers.get('x-request-id');

export const shortOf = (said: string): object => ({ status: 409, body: { error: `Not enough stock of ${said}` } });
