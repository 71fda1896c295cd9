import { describe, expect, it } from 'vitest';
import { suggestionsFor } from '../../page/filter/filter.js';

const known = { recent: ['status:5xx -get'], routes: ['/api/orders', '/api/users'], services: ['IOrders'] };
const texts = (text: string): string[] => suggestionsFor(text, known).map((suggestion) => suggestion.text);

describe('suggestions for the filter', () => {
  it('are the recent filters and all fields, while there is none', () => {
    expect(texts('').slice(0, 3)).toEqual(['status:5xx -get', 'is:', 'status:']);
  });

  it.for<[string, string[]]>([
    ['st', ['status:', 'statements:', 'statement:']],
    ['post -st', ['post -status:', 'post -statements:', 'post -statement:']],
    ['route:ord', ['route:/api/orders ']],
    ['post service:', ['post service:IOrders ']],
    ['is:le', ['is:leak ']],
    ['outcome:"roll', ['outcome:"rolled back" ']],
    ['post ', []],
    ['nonsense:', []],
    ['constructor:', []],
  ])('complete %s', ([text, completed]) => {
    expect(texts(text)).toEqual(completed);
  });
});
