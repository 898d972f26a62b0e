/** Relationships of the Python library, and the rights that the owner changed for them. */
import type { TrustFacts } from '../app/trust-record.ts'
import { ServiceError } from '../errors.ts'
import type { OverrideRules } from '../permission/rules.ts'
import { readOverride } from '../trust/permissions.ts'
import type { SourceAttribute, SourceRow } from './source.ts'
import { objectOf, textInRow, timeInRow, valueOfText } from './stored-value.ts'

export interface SourceTrust {
  readonly peerId: string
  /** Empty for a program. */
  readonly baseuri: string
  readonly type: string
  readonly relationship: string
  readonly secret: string
  readonly verificationToken: string
  readonly description: string
  readonly approved: boolean
  readonly peerApproved: boolean
  readonly verified: boolean
  readonly establishedVia: 'trust' | 'oauth2_client' | 'oauth2_interactive'
  readonly facts: TrustFacts
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly lastAccessed: number | null
  readonly lastConnectedVia: string
}

const factNames = [
  'peer_identifier',
  'client_name',
  'client_version',
  'client_platform',
  'oauth_client_id',
  'aw_supported',
  'aw_version',
] as const

/** The relationship of a row. Null: it has no secret, so no request can use it. */
export function trustOf(row: SourceRow, createdAt: number): SourceTrust | null {
  const peerId = textInRow(row, 'peerid')
  const secret = textInRow(row, 'secret')
  if (peerId === null || secret === null) return null
  const establishedVia = establishedViaOf(peerId, textInRow(row, 'established_via') ?? '')
  const isPeer = establishedVia === 'trust'
  const created = timeInRow(row, 'created_at') ?? createdAt
  return {
    peerId,
    // The library stores the address of the actor itself for a sign-in of its owner.
    baseuri: isPeer ? (textInRow(row, 'baseuri') ?? '').replace(/(?<!\/)\/+$/, '') : '',
    type: textInRow(row, 'type') ?? '',
    relationship: textInRow(row, 'relationship') ?? '',
    secret,
    verificationToken: textInRow(row, 'verification_token') ?? '',
    description: textInRow(row, 'desc') ?? '',
    approved: row['approved'] === true,
    peerApproved: row['peer_approved'] === true,
    verified: row['verified'] === true,
    establishedVia,
    facts: factsOf(row),
    createdAt: created,
    lastAccessed: timeInRow(row, 'last_accessed'),
    lastConnectedVia: textInRow(row, 'last_connected_via') ?? (isPeer ? 'trust' : 'oauth'),
  }
}

function establishedViaOf(peerId: string, stored: string): SourceTrust['establishedVia'] {
  const said = `${stored} ${peerId}`
  if (said.includes('oauth2_client')) return 'oauth2_client'
  return said.includes('oauth2') ? 'oauth2_interactive' : 'trust'
}

function factsOf(row: SourceRow): TrustFacts {
  const facts = factNames.flatMap((name) => {
    const text = textInRow(row, name)
    return text === null ? [] : [[name, text] as const]
  })
  const fetchedAt = timeInRow(row, 'capabilities_fetched_at')
  const fetched = fetchedAt === null ? {} : { capabilities_fetched_at: new Date(fetchedAt).toISOString() }
  return { ...Object.fromEntries(facts), ...fetched }
}

export interface SourceRights {
  readonly peerId: string
  readonly rules: OverrideRules
  readonly createdBy: string
  readonly notes: string
  /** Unix milliseconds. */
  readonly updatedAt: number
}

const rightsBucket = '_trust_permissions'

export function isRights({ bucket }: Pick<SourceAttribute, 'bucket'>): boolean {
  return bucket === rightsBucket
}

/** The rights in an attribute, whose data is JSON within a JSON string. Null: they cannot be read. */
export function rightsOf({ data, timestamp }: SourceAttribute, createdAt: number): SourceRights | null {
  const stored: unknown = JSON.parse(data)
  const text = typeof stored === 'string' ? stored : data
  const given = objectOf(text)
  const peerId = given === null ? null : textInRow(given, 'peer_id')
  if (given === null || peerId === null) return null
  try {
    const { rules, createdBy, notes } = readOverride(valueOfText(text))
    return {
      peerId,
      rules: withReplacedNames(rules),
      createdBy: createdBy ?? 'system',
      notes: notes ?? '',
      updatedAt: timeInRow(given, 'updated_at') ?? timestamp ?? createdAt,
    }
  } catch (error) {
    if (error instanceof ServiceError) return null
    throw error
  }
}

/** In the library, `allowed` of an override replaces that of the type. The service would unite them, and grant more. */
function withReplacedNames(rules: OverrideRules): OverrideRules {
  const entries = Object.entries(rules).map(
    ([category, rule]) => [category, rule.allowed === undefined ? rule : { ...rule, merge: false }] as const,
  )
  return Object.fromEntries(entries)
}
