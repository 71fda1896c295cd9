import { Node } from 'ts-morph';
import type { Finding } from '../model.js';

/** What of one file was converted, what is left, and what behaves differently. */
export class Progress {
  readonly left: Finding[] = [];
  readonly checks: Finding[] = [];
  /** How many constructs of each kind were converted. */
  readonly converted = new Map<string, number>();
  private readonly consumed = new Set<Node>();
  private readonly listed = new Set<Node>();

  constructor(private readonly path: string) {}

  /** Marks the names of the library in the node as converted. */
  consume(node: Node): void {
    if (Node.isIdentifier(node)) this.consumed.add(node);
    for (const one of node.getDescendants()) if (Node.isIdentifier(one)) this.consumed.add(one);
  }

  /** Whether the name was converted. */
  isConsumed(name: Node): boolean {
    return this.consumed.has(name);
  }

  /** Notes that the construct was converted. */
  done(kind: string, ...names: readonly (Node | undefined)[]): void {
    this.converted.set(kind, (this.converted.get(kind) ?? 0) + 1);
    for (const name of names) if (name) this.consume(name);
  }

  /** Lists the construct with what to write instead. */
  leave(node: Node, construct: string, advice: string): void {
    if (this.listed.has(node)) return;
    this.listed.add(node);
    for (const one of node.getDescendants()) this.listed.add(one);
    this.left.push(this.finding(node, construct, advice));
  }

  /** Says that the node stays as it is. */
  keep(node: Node): void {
    this.listed.add(node);
  }

  /** Whether the node stays as it is: listed, within what is listed, or kept. */
  isKept(node: Node): boolean {
    return this.listed.has(node);
  }

  /** Lists a construct that was converted and that behaves differently. */
  check(node: Node, construct: string, advice: string): void {
    this.checks.push(this.finding(node, construct, advice));
  }

  private finding(node: Node, construct: string, advice: string): Finding {
    const { line } = node.getSourceFile().getLineAndColumnAtPos(node.getStart());
    return { path: this.path, line, construct, advice };
  }
}
