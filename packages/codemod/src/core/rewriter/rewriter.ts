import { Node, type SourceFile } from 'ts-morph';
import type { Finding, Knowledge } from '../model.js';
import { Containers } from '../names/containers.js';
import { Origins } from '../names/origins.js';
import { Edits } from './edits.js';
import { AMBIT, markOf, markOfType } from './marks.js';
import { withImports } from './new-imports.js';
import { ObsoleteImports } from './obsolete-imports.js';
import { isMember } from './positions.js';
import { Progress } from './progress.js';
import { Style } from './style.js';
import { listUnconverted } from './unconverted.js';

/** Collects the changes of one file, what they convert, and what is left. */
export class Rewriter {
  readonly origins: Origins;
  readonly containers: Containers;
  readonly style: Style;
  private readonly edits: Edits;
  private readonly progress: Progress;

  constructor(
    readonly file: SourceFile,
    path: string,
    private readonly library: Knowledge,
  ) {
    this.edits = new Edits(file.getFullText());
    this.origins = new Origins(library.modules);
    this.containers = new Containers(this.origins, library.containers);
    this.style = new Style(file, path);
    this.progress = new Progress(path);
  }

  get left(): readonly Finding[] {
    return this.progress.left;
  }

  get checks(): readonly Finding[] {
    return this.progress.checks;
  }

  /** How many constructs of each kind were converted. */
  get converted(): ReadonlyMap<string, number> {
    return this.progress.converted;
  }

  /** The text of the node, converted as far as it was. */
  text(node: Node): string {
    return this.edits.apply(node.getStart(), node.getEnd());
  }

  replace(node: Node, text: string): void {
    this.edits.replace(node, text);
  }

  replaceRange(start: number, end: number, text: string): void {
    this.edits.replaceRange(start, end, text);
  }

  insert(at: number, text: string): void {
    this.edits.insert(at, text);
  }

  /** Removes the node and, where nothing else is on its line, the line. */
  remove(node: Node): void {
    this.edits.remove(node);
  }

  /** Removes the node and the space after it. */
  removeWithGap(node: Node): void {
    this.edits.removeWithGap(node);
  }

  /** The name that an export of Ambit has in this file. */
  use(name: string, from = AMBIT): string {
    return markOf(name, from);
  }

  /** The same for a type. */
  useType(name: string): string {
    return this.style.isTypeScript ? markOfType(name) : name;
  }

  /** What of the library the node names. */
  origin(node: Node | undefined): string | undefined {
    return this.origins.of(node);
  }

  /** Whether the node names this export of the library. */
  names(node: Node | undefined, ...exports: string[]): boolean {
    const name = this.origin(node);
    return name !== undefined && exports.includes(name);
  }

  /** Marks the names of the library in the node as converted. */
  consume(node: Node): void {
    this.progress.consume(node);
  }

  /** Notes that the construct was converted. */
  done(kind: string, ...names: readonly (Node | undefined)[]): void {
    this.progress.done(kind, ...names);
  }

  /** Lists the construct with what to write instead. */
  leave(node: Node, construct: string, advice: string): void {
    this.progress.leave(node, construct, advice);
  }

  /** Says that the node stays as it is. */
  keep(node: Node): void {
    this.progress.keep(node);
  }

  /** Lists a construct that was converted and that behaves differently. */
  check(node: Node, construct: string, advice: string): void {
    this.progress.check(node, construct, advice);
  }

  /** What to write in place of the first name in the node that Ambit has no equal for. */
  adviceWithin(node: Node, otherwise: string): string {
    for (const one of node.getDescendants()) {
      const advice = this.library.advice[this.origin(one) ?? ''];
      if (advice !== undefined) return advice;
    }
    return otherwise;
  }

  /** The converted text. Lists the names of the library that no conversion has covered. */
  finish(): string {
    listUnconverted(this.file, this.library, this.origins, this.progress);
    const removed = new ObsoleteImports(this.file, this.origins, this.edits, this.progress).remove();
    const kept = new Set<string>();
    for (const node of this.file.getDescendants())
      if (Node.isIdentifier(node) && !this.progress.isConsumed(node) && !isMember(node)) kept.add(node.getText());
    return withImports(this.edits, this.style, kept, removed);
  }
}
