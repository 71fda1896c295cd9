import { Node, type Decorator } from 'ts-morph';
import { SEE_TABLE } from '../core/advice.js';
import { all, optional } from '../core/ambit/keys.js';
import type { Asked } from '../core/classes/constructor.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { ADVICE, LAZY } from './advice.js';

/** What the decorators of a parameter ask for. */
export function readParameter(rewriter: Rewriter, found: ReadonlyMap<string, Decorator>): Asked {
  const [[name, decorator] = ['', undefined], ...others] = found;
  const [token, options] = decorator?.getArguments() ?? [];
  if (token && others.length === 0 && (name === 'inject' || name === 'injectAll')) {
    if (Node.isCallExpression(token) && rewriter.names(token.getExpression(), 'delay'))
      return { construct: '@inject(delay(() => ...))', advice: LAZY };
    const key = rewriter.text(token);
    const isOptional = options?.getText().replaceAll(/\s/g, '') === '{isOptional:true}';
    if (name === 'injectAll' && (!options || isOptional)) return all(rewriter, key);
    if (name === 'inject' && isOptional) return optional(rewriter, key);
    if (!options) return key;
  }
  return { construct: `@${name}`, advice: ADVICE[name] ?? SEE_TABLE };
}
