/** Which test files share processes. */

/** Files that need a process of their own, by reason. */
export const ownProcess: Readonly<Record<string, readonly string[]>> = {
  'awaits at its top level': [
    'test/stories/docstring-examples.test.ts',
    'test/rules/regular-expressions.test.ts',
    'test/rules/supply-chain.test.ts',
    'test/rules/docs.test.ts',
    'test/rules/catalogue.test.ts',
    'test/rules/sources.test.ts',
  ],
  'measures the memory of its process': [
    'test/faults/large-actors.test.ts',
    'test/faults/body-memory.test.ts',
    'test/rules/passphrases.test.ts',
  ],
  'counts the open sockets of its process': ['test/stories/testing-kit.test.ts'],
}

const sharing = /^test\/(?:browser|contracts|faults|rules|stories)\//

/** Returns the name of the processes that a test file shares, or null. The rules load few modules, and joined code of their own. */
export function processOf(name: string): 'rules' | 'services' | null {
  if (!sharing.test(name) || Object.values(ownProcess).flat().includes(name)) return null
  return name.startsWith('test/rules/') ? 'rules' : 'services'
}
