/** A second implementation of the permission rules, from docs/peers.md. Tests compare the service with it. */

export interface RuleOnWire {
  readonly patterns?: readonly string[]
  readonly operations?: readonly string[]
  readonly excluded_patterns?: readonly string[]
  readonly allowed?: readonly string[]
  readonly denied?: readonly string[]
  readonly grants?: readonly { readonly pattern: string; readonly operations: readonly string[] }[]
}

export type RulesOnWire = Readonly<Record<string, RuleOnWire>>

/** Returns whether rules, in the form of `GET …/permissions`, allow a peer this operation. */
export function isGranted(rules: RulesOnWire, category: string, operation: string, target: string): boolean {
  if (category === 'resources' && operation === 'read' && target.startsWith('actingweb://properties/')) {
    const name = decodeURIComponent(target.slice('actingweb://properties/'.length))
    if (name !== 'all') return !isRefused(rules[category] ?? {}, target) && isGranted(rules, 'properties', 'read', name)
  }
  return judge(rules[category] ?? {}, operation, target, category === 'properties' || category === 'resources')
}

function judge(rule: RuleOnWire, operation: string, target: string, hasParts: boolean): boolean {
  const { patterns = [], operations, excluded_patterns: excluded = [], allowed = [], denied = [] } = rule
  if (denied.some((pattern) => keeps(pattern, target, hasParts))) return false
  if (allowed.some((pattern) => fits(pattern, target))) return true
  if (excluded.some((pattern) => keeps(pattern, target, hasParts))) return false
  if (isGrantedAlone(rule, operation, target)) return true
  if (operations === undefined || !patterns.some((pattern) => fits(pattern, target))) return false
  return includes(operations, operation)
}

function isGrantedAlone({ grants = [] }: RuleOnWire, operation: string, target: string): boolean {
  return grants.some(({ pattern, operations }) => fits(pattern, target) && includes(operations, operation))
}

function includes(operations: readonly string[], operation: string): boolean {
  if (operation === 'append') return operations.includes('append') || operations.includes('write')
  return operations.includes(operation === 'subscribe' ? 'read' : operation)
}

/** Returns whether the rule denies reading the address, in contrast to a rule that does not mention it. */
function isRefused(rule: RuleOnWire, address: string): boolean {
  const { patterns = [], operations, excluded_patterns: excluded = [], allowed = [], denied = [] } = rule
  if (denied.some((pattern) => keeps(pattern, address, true))) return true
  if (allowed.some((pattern) => fits(pattern, address))) return false
  if (excluded.some((pattern) => keeps(pattern, address, true))) return true
  if (isGrantedAlone(rule, 'read', address)) return false
  return operations !== undefined && !operations.includes('read') && patterns.some((pattern) => fits(pattern, address))
}

function fits(pattern: string, target: string): boolean {
  if (pattern.endsWith('://')) return target.startsWith(pattern)
  if (pattern.endsWith('/*') && fits(pattern.slice(0, -2), target)) return true
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`, 's').test(target)
}

function keeps(pattern: string, target: string, hasParts: boolean): boolean {
  if (fits(pattern, target)) return true
  if (!hasParts) return false
  const steps = target.split('/')
  const wholes = steps.slice(1).map((_step, at) => steps.slice(0, at + 1).join('/'))
  const beginning = /^[^*?]*/.exec(pattern)?.[0] ?? ''
  return beginning.startsWith(`${target}/`) || wholes.some((whole) => whole !== '' && fits(pattern, whole))
}
