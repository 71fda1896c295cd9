import { Node, type ClassDeclaration, type Decorator, type ParameterDeclaration } from 'ts-morph';
import type { Rewriter } from './rewriter.js';
import { resolved } from './containers.js';

/** The decorators of the library on the node, by the name that it exports. */
export function decoratorsOf(rewriter: Rewriter, node: { getDecorators(): Decorator[] }): Map<string, Decorator> {
  const found = new Map<string, Decorator>();
  for (const decorator of node.getDecorators()) {
    const name = rewriter.origin(nameOf(decorator));
    if (name !== undefined) found.set(name, decorator);
  }
  return found;
}

/** What stands after the `@`, without its call. */
export function nameOf(decorator: Decorator): Node {
  const expression = decorator.getExpression();
  return Node.isCallExpression(expression) ? expression.getExpression() : expression;
}

/** What a parameter asks for: `all('IRule')`, or why it cannot be said. */
export type Asked = { readonly dependency: string } | { readonly left: string; readonly advice: string };

/** Reads the decorators of one parameter; undefined where it has none of the library. */
export type ReadParameter = (
  parameter: ParameterDeclaration,
  decorators: ReadonlyMap<string, Decorator>,
) => Asked | undefined;

/** Puts `@inject(...)` of Ambit on each parameter of the constructor; by its type where the library went by the type. */
export function convertConstructor(
  rewriter: Rewriter,
  declaration: ClassDeclaration,
  read: ReadParameter,
  options = { byType: true },
): void {
  const parameters = (declaration.getConstructors()[0]?.getParameters() ?? []).map((parameter) => {
    const decorators = decoratorsOf(rewriter, parameter);
    const asked =
      decorators.size > 0 ? read(parameter, decorators) : options.byType ? byType(rewriter, parameter) : undefined;
    return { parameter, decorators, asked };
  });
  const isLeft = parameters.some(({ asked }) => asked && 'left' in asked);
  for (const { parameter, decorators, asked } of parameters) {
    if (asked && 'left' in asked) rewriter.leave(parameter, asked.left, asked.advice);
    // Half a list of keys would be of no use: the other parameters stay, too.
    else if (isLeft) for (const one of [parameter, ...parameter.getDescendants()]) rewriter.keep(one);
    else if (asked) putInject(rewriter, parameter, decorators, asked.dependency);
  }
}

function putInject(
  rewriter: Rewriter,
  parameter: ParameterDeclaration,
  decorators: ReadonlyMap<string, Decorator>,
  dependency: string,
): void {
  const text = `@${rewriter.use('inject')}(${dependency})`;
  const [first, ...others] = decorators.values();
  if (!first) rewriter.insert(parameter.getStart(), `${text} `);
  else {
    rewriter.replace(first, text);
    for (const other of others) removeWithGap(rewriter, other);
  }
  rewriter.done(first ? '@inject' : 'parameter by its type', ...decorators.values());
}

function removeWithGap(rewriter: Rewriter, node: Node): void {
  const text = node.getSourceFile().getFullText();
  let end = node.getEnd();
  while (/\s/.test(text[end] ?? '')) end++;
  rewriter.replaceRange(node.getStart(), end, '');
}

/** `emitDecoratorMetadata` makes a key of a parameter's type if that is a class. */
function byType(rewriter: Rewriter, parameter: ParameterDeclaration): Asked | undefined {
  const advice = 'put @inject(key) of @ambit/container on the parameter';
  // Ambit, like JavaScript, counts the parameters before the first that has a default.
  if (parameter.hasInitializer() || parameter.isRestParameter()) return undefined;
  const type = parameter.getTypeNode();
  if (!Node.isTypeReference(type)) return { left: 'parameter whose type is no class', advice };
  const name = type.getTypeName();
  const symbol = (Node.isQualifiedName(name) ? name.getRight() : name).getSymbol();
  const declarations = symbol?.getDeclarations() ?? [];
  if (declarations.length === 0) return { left: 'parameter whose type is no class', advice };
  if (declarations.some((one) => isTypeOnly(one)))
    return {
      left: 'parameter whose class is imported as a type',
      advice: 'import the class itself, and put @inject(TheClass) on the parameter',
    };
  const real = symbol ? resolved(symbol).getDeclarations() : [];
  if (
    real.some(
      (one) =>
        Node.isInterfaceDeclaration(one) || Node.isTypeAliasDeclaration(one) || Node.isTypeParameterDeclaration(one),
    ) &&
    !real.some((one) => Node.isClassDeclaration(one))
  )
    return { left: 'parameter whose type is no class', advice };
  if (rewriter.origin(name) !== undefined)
    return {
      left: 'container as a dependency',
      advice: 'pass what it resolves, or register a factory, which receives the scope',
    };
  return { dependency: name.getText() };
}

function isTypeOnly(declaration: Node): boolean {
  if (Node.isImportSpecifier(declaration))
    return declaration.isTypeOnly() || declaration.getImportDeclaration().isTypeOnly();
  return Node.isImportClause(declaration) && declaration.isTypeOnly();
}

/** Whether the expression names a class: one of the program, or an import from outside it. */
export function isClass(rewriter: Rewriter, node: Node | undefined): boolean {
  if (Node.isClassExpression(node)) return true;
  if (!Node.isIdentifier(node) || rewriter.origin(node) !== undefined) return false;
  const symbol = node.getSymbol();
  const found = symbol ? resolved(symbol).getDeclarations() : [];
  if (found.some((one) => Node.isClassDeclaration(one))) return true;
  if (found.some((one) => Node.isVariableDeclaration(one) && isClass(rewriter, one.getInitializer()))) return true;
  const isOutside = found.every((one) => Node.isImportSpecifier(one) || Node.isImportClause(one));
  return (
    isOutside &&
    (symbol?.getDeclarations().some((one) => Node.isImportSpecifier(one) || Node.isImportClause(one)) ?? false)
  );
}

/** Whether the expression is a string or a constant that holds a string or symbol. */
export function isToken(node: Node | undefined): boolean {
  if (Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node)) return true;
  if (Node.isCallExpression(node)) return ['Symbol', 'Symbol.for'].includes(node.getExpression().getText());
  if (Node.isAsExpression(node)) return isToken(node.getExpression());
  const symbol = Node.isIdentifier(node)
    ? node.getSymbol()
    : Node.isPropertyAccessExpression(node)
      ? node.getNameNode().getSymbol()
      : undefined;
  return (
    symbol !== undefined &&
    resolved(symbol)
      .getDeclarations()
      .some(
        (one) => Node.isInitializerExpressionGetable(one) && (Node.isEnumMember(one) || isToken(one.getInitializer())),
      )
  );
}
