/** Which test files share processes. */

/** Files that need a process of their own, by reason. */
export const ownProcess: Readonly<Record<string, readonly string[]>> = {
  'awaits at its top level': [
    'test/stories/pages-developers.test.ts',
    'test/stories/docstring-examples.test.ts',
    'test/rules/regular-expressions.test.ts',
    'test/rules/supply-chain.test.ts',
    'test/rules/joined-files.test.ts',
  ],
  'measures the memory of its process': [
    'test/faults/large-actors.test.ts',
    'test/faults/body-memory.test.ts',
    'test/rules/passphrases.test.ts',
  ],
  'counts the open sockets of its process': ['test/stories/testing-kit.test.ts'],
}

/** Returns the name of the processes that a test file shares, or null. */
export function processOf(name: string): 'services' | null {
  if (Object.values(ownProcess).flat().includes(name)) return null
  return name.startsWith('test/stories/') ? 'services' : null
}
