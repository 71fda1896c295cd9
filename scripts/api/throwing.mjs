// Which functions of a package can throw, as far as their code tells.
import ts from 'typescript-6.0';
import { bodyOf, handlersOf } from './syntax.mjs';

export class Throwing {
  #checker;
  #folder;
  /** @type {Map<ts.Node, boolean>} */
  #known = new Map();

  /** @param {ts.TypeChecker} checker @param {string} folder of the package */
  constructor(checker, folder) {
    this.#checker = checker;
    this.#folder = folder;
  }

  /**
   * Whether a `throw` stands in the body, or in a function of the package that the body calls.
   * @param {ts.Node} declaration
   * @returns {boolean}
   */
  canThrow(declaration) {
    const known = this.#known.get(declaration);
    if (known !== undefined) return known;
    this.#known.set(declaration, false);
    const throws = this.#throwsWithin(bodyOf(declaration));
    this.#known.set(declaration, throws);
    return throws;
  }

  /** @param {ts.Node | undefined} node @returns {boolean} */
  #throwsWithin(node) {
    if (!node) return false;
    if (ts.isThrowStatement(node)) return true;
    if (ts.isTryStatement(node) && node.catchClause) return this.#throwsWithin(node.catchClause);
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return false;
    const handlers = handlersOf(node);
    if (handlers) return handlers.some((handler) => this.#throwsWithin(bodyOf(handler)));
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const called = this.#checker.getResolvedSignature(node)?.declaration;
      if (called && this.#isOurs(called) && this.canThrow(called)) return true;
    }
    return ts.forEachChild(node, (child) => this.#throwsWithin(child) || undefined) ?? false;
  }

  /** @param {ts.Node} node */
  #isOurs(node) {
    return node.getSourceFile().fileName.startsWith(`${this.#folder}/src/`);
  }
}
