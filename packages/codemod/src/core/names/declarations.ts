import { Node, type Symbol as TsSymbol } from 'ts-morph';

/** The symbol behind imports. */
export const resolved = (symbol: TsSymbol): TsSymbol => symbol.getAliasedSymbol() ?? symbol;

/** The symbol of `users` or of `services.users`. */
export function symbolOf(node: Node | undefined): TsSymbol | undefined {
  if (Node.isIdentifier(node)) return node.getSymbol();
  return Node.isPropertyAccessExpression(node) ? node.getNameNode().getSymbol() : undefined;
}

/** What `users` or `services.users` stands for, also in another file. */
export function declarationsOf(node: Node | undefined): Node[] {
  const symbol = symbolOf(node);
  return symbol ? resolved(symbol).getDeclarations() : [];
}
