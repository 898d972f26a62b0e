/** A reporter of node:test that writes a line for each failed test immediately, and nothing else. */
import type { TestEvent } from 'node:test/reporters'

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) if (event.type === 'test:fail') yield `\nmutant noticed by ${event.data.name}\n`
}
