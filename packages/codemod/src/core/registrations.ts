import { Node } from 'ts-morph';
import type { Rewriter } from './rewriter.js';

/** How a service is made, as an argument of `Registration`: `fromClass(Users)`. */
export interface Service {
  readonly source: string;
  readonly modifiers: readonly string[];
}

/** `Registration.fromClass(Users).pipe(singleton()).to('users')`. */
export function registration(rewriter: Rewriter, { source, modifiers }: Service, key: string): string {
  const piped = modifiers.length > 0 ? `.pipe(${modifiers.join(', ')})` : '';
  return `${rewriter.use('Registration')}.${source}${piped}.to(${key})`;
}

/** The modifiers of one instance for each scope with the tag. */
export const scoped = (rewriter: Rewriter, tag = 'request'): string[] => [
  `${rewriter.use('singleton')}()`,
  `${rewriter.use('scope')}(${rewriter.use('hasTag')}(${rewriter.string(tag)}))`,
];

export const singleton = (rewriter: Rewriter): string => `${rewriter.use('singleton')}()`;

/** The spaces before the line of the node. */
export const indentOf = (node: Node): string => node.getIndentationText();

/** The type of a key whose service is a `T`, where the library had `Token<T>`. */
export function keyType(rewriter: Rewriter, reference: Node): string {
  const [service] = Node.isTypeReference(reference) ? reference.getTypeArguments() : [];
  if (!service) return rewriter.useType('Key');
  const type = `string | symbol | ${rewriter.useType('AbstractClass')}<${rewriter.text(service)}>`;
  return Node.isArrayTypeNode(reference.getParent()) ? `(${type})` : type;
}
