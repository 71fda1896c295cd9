import { recordLine } from '@ambit/inspector';
import { type DestinationStream, levels } from 'pino';

/** Shows each line also in the inspector, at the request that wrote it. */
export function inspectedOutput(output: DestinationStream): DestinationStream {
  return {
    write(text) {
      const { level, type } = JSON.parse(text) as { readonly level: number; readonly type?: unknown };
      const source = type === 'audit' ? 'audit' : 'log';
      recordLine({ source, level: levels.labels[level] ?? String(level), text: text.trim() });
      output.write(text);
    },
  };
}
