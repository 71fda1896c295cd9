import { type Expression, Node, type Symbol as TsSymbol, type TypeNode } from 'ts-morph';
import type { ContainerModel, Program } from './model.js';

/** The symbol behind imports. */
export const resolved = (symbol: TsSymbol): TsSymbol => symbol.getAliasedSymbol() ?? symbol;

/** The symbol of `users` or of `services.users`. */
export function symbolOf(node: Node | undefined): TsSymbol | undefined {
  if (Node.isIdentifier(node)) return node.getSymbol();
  return Node.isPropertyAccessExpression(node) ? node.getNameNode().getSymbol() : undefined;
}

/** The declaration that `users` or `services.users` refers to, also in another file. */
export function declarationsOf(node: Node | undefined): Node[] {
  const symbol = symbolOf(node);
  return symbol ? resolved(symbol).getDeclarations() : [];
}

/** Tells which expressions are containers of the library, by declarations alone: its types need not be installed. */
export class Containers {
  private readonly known = new Map<TsSymbol, boolean>();

  constructor(
    private readonly origins: Origins,
    private readonly model: ContainerModel,
  ) {}

  /** Whether the expression is a container. */
  has(node: Node | undefined): boolean {
    const expression = stripped(node);
    if (Node.isCallExpression(expression)) return this.isCall(expression.getExpression());
    if (Node.isNewExpression(expression)) return this.makes(expression.getExpression());
    if (Node.isConditionalExpression(expression)) return this.has(expression.getWhenTrue());
    if (Node.isBinaryExpression(expression)) return this.has(expression.getRight());
    const name = this.origins.of(expression);
    if (name !== undefined && this.model.values.includes(name)) return true;
    const symbol = symbolOf(expression);
    return symbol !== undefined && this.isSymbol(symbol);
  }

  /** Whether the type is that of a container. */
  hasType(type: TypeNode | undefined): boolean {
    if (Node.isUnionTypeNode(type)) return type.getTypeNodes().some((one) => this.hasType(one));
    if (!Node.isTypeReference(type)) return false;
    const name = this.origins.of(type.getTypeName());
    if (name !== undefined) return this.model.types.includes(name);
    if (type.getTypeName().getText() === 'Promise') return type.getTypeArguments().some((one) => this.hasType(one));
    // type AppContainer = AwilixContainer<Cradle>
    return declarationsOf(type.getTypeName()).some(
      (one) => Node.isTypeAliasDeclaration(one) && this.hasType(one.getTypeNode()),
    );
  }

  private makes(creator: Expression): boolean {
    const name = this.origins.of(creator);
    return name !== undefined && this.model.creators.includes(name);
  }

  private isCall(called: Expression): boolean {
    if (this.makes(called)) return true;
    if (Node.isPropertyAccessExpression(called) && this.model.methods.includes(called.getName()))
      return this.has(called.getExpression());
    return Node.isIdentifier(called) && declarationsOf(called).some((one) => this.returns(one));
  }

  /** Whether a function says by its type or its only result that it returns a container. */
  private returns(declaration: Node): boolean {
    const made = Node.isVariableDeclaration(declaration) ? declaration.getInitializer() : declaration;
    if (!Node.isFunctionDeclaration(made) && !Node.isArrowFunction(made) && !Node.isFunctionExpression(made))
      return false;
    const type = made.getReturnTypeNode();
    if (type) return this.hasType(type);
    const body = made.getBody();
    if (!Node.isBlock(body)) return this.has(body);
    const last = body.getStatements().at(-1);
    return Node.isReturnStatement(last) && this.has(last.getExpression());
  }

  private isSymbol(symbol: TsSymbol): boolean {
    const target = resolved(symbol);
    const known = this.known.get(target);
    if (known !== undefined) return known;
    this.known.set(target, false);
    const is = target.getDeclarations().some((one) => this.isDeclared(one));
    this.known.set(target, is);
    return is;
  }

  private isDeclared(declaration: Node): boolean {
    if (Node.isExportAssignment(declaration)) return this.has(declaration.getExpression());
    if (
      !Node.isVariableDeclaration(declaration) &&
      !Node.isParameterDeclaration(declaration) &&
      !Node.isPropertyDeclaration(declaration) &&
      !Node.isPropertySignature(declaration)
    )
      return Node.isPropertyAssignment(declaration) && this.has(declaration.getInitializer());
    const type = declaration.getTypeNode();
    if (type) return this.hasType(type);
    const initial = Node.isPropertySignature(declaration) ? undefined : declaration.getInitializer();
    return initial ? this.has(initial) : Node.isVariableDeclaration(declaration) && this.isAssigned(declaration);
  }

  /** `let container;` with an assignment later. */
  private isAssigned(declaration: Node): boolean {
    const symbol = declaration.getSymbol();
    const scope = declaration.getFirstAncestor((one) => Node.isBlock(one) || Node.isSourceFile(one));
    return (
      scope
        ?.getDescendants()
        .some(
          (node) =>
            Node.isBinaryExpression(node) &&
            node.getOperatorToken().getText() === '=' &&
            Node.isIdentifier(node.getLeft()) &&
            node.getLeft().getSymbol() === symbol &&
            this.has(node.getRight()),
        ) ?? false
    );
  }
}

/** The expression without parentheses, `await`, `as` and `!`. */
function stripped(node: Node | undefined): Node | undefined {
  let at = node;
  while (
    Node.isParenthesizedExpression(at) ||
    Node.isAwaitExpression(at) ||
    Node.isAsExpression(at) ||
    Node.isSatisfiesExpression(at) ||
    Node.isNonNullExpression(at)
  )
    at = at.getExpression();
  return at;
}

/** Whether the expression names a class: one of the program, or an import from outside it. */
export function isClass(origins: Origins, node: Node | undefined): boolean {
  if (Node.isClassExpression(node)) return true;
  if (!Node.isIdentifier(node) || origins.of(node) !== undefined) return false;
  const found = declarationsOf(node);
  if (found.some((one) => Node.isClassDeclaration(one))) return true;
  if (found.some((one) => Node.isVariableDeclaration(one) && isClass(origins, one.getInitializer()))) return true;
  const isOutside = found.every((one) => isImport(one));
  return isOutside && (node.getSymbol()?.getDeclarations().some(isImport) ?? false);
}

const isImport = (declaration: Node): boolean =>
  Node.isImportSpecifier(declaration) || Node.isImportClause(declaration);

/** Whether the expression is a string or a constant that holds a string or symbol. */
export function isToken(node: Node | undefined): boolean {
  if (Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node)) return true;
  if (Node.isCallExpression(node)) return ['Symbol', 'Symbol.for'].includes(node.getExpression().getText());
  if (Node.isAsExpression(node)) return isToken(node.getExpression());
  return declarationsOf(node).some(
    (one) => Node.isInitializerExpressionGetable(one) && (Node.isEnumMember(one) || isToken(one.getInitializer())),
  );
}

/** The export of the library that an expression names: `injectable`, or `interfaces.Container`. */
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

/** The values of a setting in all containers of the program. */
export function settingsIn<T>(
  program: Program,
  modules: readonly string[],
  mentions: RegExp,
  read: (node: Node, origins: Origins) => T | undefined,
): ReadonlySet<T> {
  const origins = new Origins(modules);
  const settings = new Set<T>();
  for (const file of program.files) {
    if (!mentions.test(file.getFullText())) continue;
    for (const node of file.getDescendants()) {
      const setting = read(node, origins);
      if (setting !== undefined) settings.add(setting);
    }
  }
  return settings;
}
