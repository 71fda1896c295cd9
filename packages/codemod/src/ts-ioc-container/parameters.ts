import { Node, type Decorator } from 'ts-morph';
import { SEE_TABLE } from '../core/advice.js';
import type { Asked } from '../core/classes/constructor.js';
import { declarationsOf } from '../core/names/declarations.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { ADVICE } from './advice.js';
import { isNewToken } from './tokens.js';

/** What the decorators of a parameter ask for. */
export function readParameter(rewriter: Rewriter, found: ReadonlyMap<string, Decorator>): Asked {
  const [[name, decorator] = ['', undefined]] = found;
  const [token, ...more] = decorator?.getArguments() ?? [];
  if (name !== 'inject' || !token || more.length > 0 || found.size > 1)
    return { construct: `@${name}`, advice: ADVICE[name] ?? SEE_TABLE };
  return keyOf(rewriter, token) ?? { construct: '@inject of more than a key', advice: ADVICE['by'] ?? SEE_TABLE };
}

function keyOf(rewriter: Rewriter, token: Node): string | undefined {
  if (Node.isCallExpression(token)) {
    const [key, ...more] = token.getArguments();
    const name = rewriter.origin(token.getExpression());
    return (name === 'by.key' || name === 'byKey') && key && more.length === 0 ? rewriter.text(key) : undefined;
  }
  if (Node.isArrowFunction(token)) {
    const [scope, ...others] = token.getParameters();
    const body = token.getBody();
    if (!scope || others.length > 0 || !Node.isCallExpression(body)) return undefined;
    const [key, ...more] = body.getArguments();
    return body.getExpression().getText() === `${scope.getName()}.resolve` && key && more.length === 0
      ? rewriter.text(key)
      : undefined;
  }
  const isKey = Node.isStringLiteral(token) || Node.isNoSubstitutionTemplateLiteral(token) || isKeyName(token);
  return isKey ? rewriter.text(token) : undefined;
}

/** A name that holds a string, a symbol, a class or a token; not a function, which `@inject` also takes. */
function isKeyName(node: Node): boolean {
  return declarationsOf(node).some((one) => {
    if (Node.isClassDeclaration(one) || Node.isEnumMember(one)) return true;
    const value = Node.isVariableDeclaration(one) || Node.isPropertyAssignment(one) ? one.getInitializer() : undefined;
    const plain = Node.isAsExpression(value) ? value.getExpression() : value;
    return (
      Node.isStringLiteral(plain) ||
      (Node.isCallExpression(plain) && /^Symbol(?:\.for)?$/.test(plain.getExpression().getText())) ||
      isNewToken(plain)
    );
  });
}
