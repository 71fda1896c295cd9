import { Node } from 'ts-morph';
import type { Rewriter } from '../rewriter/rewriter.js';

/** The type of a key whose service is a `T`, where the library had `Token<T>`. */
export function keyType(rewriter: Rewriter, reference: Node): string {
  const [service] = Node.isTypeReference(reference) ? reference.getTypeArguments() : [];
  if (!service) return rewriter.useType('Key');
  const type = `string | symbol | ${rewriter.useType('AbstractClass')}<${rewriter.text(service)}>`;
  return Node.isArrayTypeNode(reference.getParent()) ? `(${type})` : type;
}

/** The key in a list of keys: every service of it. */
export const all = (rewriter: Rewriter, key: string): string => `${rewriter.use('all')}(${key})`;

/** The key in a list of keys: the service, or undefined. */
export const optional = (rewriter: Rewriter, key: string): string => `${rewriter.use('optional')}(${key})`;
