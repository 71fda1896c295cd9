import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const CALL = /^\s*at (?:.*? \()?(?:async )?(file:\/\/.+?|\/.+?|[A-Za-z]:[\\/].+?)(?:\?[^:]*)?:(\d+):\d+\)?$/;
/** The code of dependencies, and of these packages in a checkout of them. */
const NOT_OF_APPLICATION = /[\\/]node_modules[\\/]|[\\/]packages[\\/](?!create-ambit)[^\\/]+[\\/](?:src|dist)[\\/]/;

/** The nearest line of the application in a stack: `src/orders.ts:44`. */
export function lineOf(stack: string): string | undefined {
  for (const line of stack.split('\n')) {
    const [, location, row] = CALL.exec(line) ?? [];
    if (location === undefined || NOT_OF_APPLICATION.test(location)) continue;
    const path = location.startsWith('file:') ? fileURLToPath(location) : location;
    const below = relative(process.cwd(), path);
    return `${below.startsWith('..') ? path : below.split(sep).join('/')}:${row}`;
  }
  return undefined;
}
