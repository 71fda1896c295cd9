import type { JSX } from 'preact';
import type { ServiceNode } from '../../src/wire.js';
import { count, lastOf } from '../format.js';
import type { GraphCanvas } from './graph-canvas.js';

const STEP = 1.2;

/** The row below the graph: find and zoom. */
export function GraphTools(props: { canvas: GraphCanvas; choose: (service: string) => void }): JSX.Element {
  const { canvas, choose } = props;
  const { nodes = [] } = canvas.index.value?.view ?? {};
  const [leftOut, scale] = [canvas.leftOut.value, canvas.scale.value];
  const find = (text: string, isPart: boolean): void => {
    const wanted = text.toLowerCase();
    const found = nodes.find(
      (node) => nameOf(node) === text || (isPart && nameOf(node).toLowerCase().includes(wanted)),
    );
    if (found && text !== '') choose(found.id);
  };
  return (
    <div class="graph-tools" role="group" aria-label="Graph tools">
      <input
        type="search"
        list="services"
        placeholder="Find a service"
        aria-label="Find a service"
        onInput={({ currentTarget }) => find(currentTarget.value, false)}
        onKeyDown={({ key, currentTarget }) => key === 'Enter' && find(currentTarget.value, true)}
      />
      <datalist id="services">
        {nodes.map((node) => (
          <option key={node.id} value={nameOf(node)} />
        ))}
      </datalist>
      <span class="hint">
        {leftOut > 0 && `${count(leftOut)} arrows are too many to read: choose a service to see its own.`}
      </span>
      <div class="zoom" role="group" aria-label="Zoom">
        <button aria-label="Zoom out" onClick={() => canvas.zoom(scale / STEP)}>
          −
        </button>
        <output class="scale">{Math.round(scale * 100)} %</output>
        <button aria-label="Zoom in" onClick={() => canvas.zoom(scale * STEP)}>
          +
        </button>
        <button aria-label="Fit into the window" onClick={() => canvas.fit()}>
          Fit
        </button>
      </div>
    </div>
  );
}

/** Several scopes may have a service with one key. */
const nameOf = ({ key, box }: ServiceNode): string => `${key} · ${lastOf(box)}`;
