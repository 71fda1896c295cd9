import { Node, type Decorator } from 'ts-morph';
import { SEE_TABLE } from '../core/advice.js';
import { all, optional } from '../core/ambit/keys.js';
import type { Asked } from '../core/classes/constructor.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { ADVICE } from './advice.js';

/** What the decorators of a parameter ask for. */
export function readParameter(rewriter: Rewriter, found: ReadonlyMap<string, Decorator>): Asked {
  const other = Array.from(found.keys()).find((one) => !['inject', 'multiInject', 'optional'].includes(one));
  if (other !== undefined) return { construct: `@${other}`, advice: ADVICE[other] ?? SEE_TABLE };
  const decorator = found.get('inject') ?? found.get('multiInject');
  const [token] = decorator?.getArguments() ?? [];
  if (!token) return { construct: '@optional without a key', advice: '@inject(optional(key))' };
  const lazy = Node.isNewExpression(token) ? rewriter.origin(token.getExpression()) : undefined;
  if (lazy !== undefined) return { construct: `@inject(new ${lazy}(...))`, advice: ADVICE[lazy] ?? 'a key' };
  const key = rewriter.text(token);
  if (found.has('multiInject')) return all(rewriter, key);
  return found.has('optional') ? optional(rewriter, key) : key;
}
