import { Node, type Expression, type Symbol as TsSymbol } from 'ts-morph';

/** What of the library an expression names: `injectable`, or `interfaces.Container`. */
export class Origins {
  private readonly known = new Map<TsSymbol, string | undefined>();

  constructor(private readonly modules: readonly string[]) {}

  /** The export of the library that the node names, also through a namespace, `require` or another file. */
  of(node: Node | undefined): string | undefined {
    if (Node.isIdentifier(node)) {
      const parent = node.getParent();
      const symbol = Node.isShorthandPropertyAssignment(parent) ? parent.getValueSymbol() : node.getSymbol();
      return symbol && this.ofSymbol(symbol);
    }
    if (Node.isPropertyAccessExpression(node)) return this.member(node.getExpression(), node.getName());
    if (Node.isQualifiedName(node)) return this.member(node.getLeft(), node.getRight().getText());
    return undefined;
  }

  private member(left: Node, name: string): string | undefined {
    const outer = this.of(left);
    if (outer === undefined) return undefined;
    return outer === '*' ? name : `${outer}.${name}`;
  }

  isLibrary(specifier: string | undefined): boolean {
    return specifier !== undefined && this.modules.includes(specifier);
  }

  /** Whether the file itself imports the name from the library. */
  isDirect(node: Node): boolean {
    const parent = node.getParent();
    const symbol = Node.isShorthandPropertyAssignment(parent)
      ? parent.getValueSymbol()
      : Node.isExportSpecifier(parent)
        ? node.getSymbol()?.getImmediatelyAliasedSymbol()
        : node.getSymbol();
    return (
      symbol?.getDeclarations().some((one) => !Node.isExportSpecifier(one) && this.ofDeclaration(one) !== undefined) ??
      false
    );
  }

  /** Whether the expression is `require(...)` of the library. */
  isRequire(node: Expression | undefined): boolean {
    if (!Node.isCallExpression(node) || node.getExpression().getText() !== 'require') return false;
    const [name] = node.getArguments();
    return Node.isStringLiteral(name) && this.isLibrary(name.getLiteralValue());
  }

  private ofSymbol(symbol: TsSymbol): string | undefined {
    if (this.known.has(symbol)) return this.known.get(symbol);
    this.known.set(symbol, undefined);
    const name = this.find(symbol);
    this.known.set(symbol, name);
    return name;
  }

  private find(symbol: TsSymbol): string | undefined {
    for (const declaration of symbol.getDeclarations()) {
      const name = this.ofDeclaration(declaration);
      if (name !== undefined) return name;
    }
    const next = symbol.isAlias() ? symbol.getImmediatelyAliasedSymbol() : undefined;
    return next && this.ofSymbol(next);
  }

  private ofDeclaration(declaration: Node): string | undefined {
    if (Node.isImportSpecifier(declaration))
      return this.isLibrary(declaration.getImportDeclaration().getModuleSpecifierValue())
        ? declaration.getName()
        : undefined;
    if (Node.isExportSpecifier(declaration))
      return this.isLibrary(declaration.getExportDeclaration().getModuleSpecifierValue())
        ? declaration.getName()
        : undefined;
    if (Node.isNamespaceImport(declaration) || Node.isImportClause(declaration)) {
      const from = declaration.getFirstAncestor(Node.isImportDeclaration);
      return this.isLibrary(from?.getModuleSpecifierValue()) ? '*' : undefined;
    }
    if (Node.isVariableDeclaration(declaration)) return this.isRequire(declaration.getInitializer()) ? '*' : undefined;
    if (Node.isBindingElement(declaration)) {
      const from = declaration.getFirstAncestor(Node.isVariableDeclaration);
      if (!this.isRequire(from?.getInitializer())) return undefined;
      return declaration.getPropertyNameNode()?.getText() ?? declaration.getName();
    }
    return undefined;
  }
}
