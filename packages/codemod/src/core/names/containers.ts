import { Node, type Expression, type Symbol as TsSymbol, type TypeNode } from 'ts-morph';
import type { ContainerModel } from '../model.js';
import { declarationsOf, resolved, symbolOf } from './declarations.js';
import type { Origins } from './origins.js';

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
    if (name === undefined)
      return type.getTypeName().getText() === 'Promise' && type.getTypeArguments().some((one) => this.hasType(one));
    return this.model.types.includes(name);
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
