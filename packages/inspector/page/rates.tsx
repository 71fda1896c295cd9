import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { count } from './format.js';
import { type Line, RateHistory, SECONDS } from './histories.js';
import { Card } from './parts.js';
import { usePolled } from './polled.js';
import { fetchRoutes } from './stream/connection.js';

const HEIGHT = 22;

/** The busiest routes of the last minute. */
export function Rates(): JSX.Element | null {
  const read = useMemo(() => {
    const history = new RateHistory();
    return async (): Promise<Line[]> => {
      history.take(await fetchRoutes());
      return history.busiest();
    };
  }, []);
  const { value: lines = [] } = usePolled(read);
  if (lines.length === 0) return null;
  return (
    <Card title="Requests per second, by route">
      <ul class="rates">
        {lines.map(({ name, rates }) => (
          <li key={name}>
            <span title={name}>{name}</span>
            <Sparkline rates={rates} />
            <b>{count(rates.at(-1) ?? 0)}</b>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Sparkline({ rates }: { readonly rates: readonly number[] }): JSX.Element {
  const most = Math.max(1, ...rates);
  const points = rates.map((rate, i) => `${SECONDS - rates.length + i},${HEIGHT - 1 - (rate / most) * (HEIGHT - 2)}`);
  return (
    <svg viewBox={`0 0 ${SECONDS - 1} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points.join(' ')} />
    </svg>
  );
}
