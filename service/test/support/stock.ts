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

export const order = (
  stage: Stage,
  ...wanted: readonly (readonly [string, number])[]
): Promise<JsonResponse<unknown>> =>
  stage.post('/api/orders', { items: wanted.map(([productId, quantity]) => ({ productId, quantity })) });

export const shortOf = (said: string): object => ({ status: 409, body: { error: `Not enough stock of ${said}` } });
