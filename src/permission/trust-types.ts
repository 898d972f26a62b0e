/** The trust types: the name, description and default rules of each kind of relationship. */
import { reachesBeyondData } from './roles.ts'
import type { Rules } from './rules.ts'

/** A kind of relationship, with the rules that its peers get. @public */
export interface TrustType {
  readonly name: string
  readonly display_name: string
  readonly description: string
  readonly permissions: Rules
  /** True when a request for this type always needs the owner's approval, independent of the settings. */
  readonly neverAutoApproved?: boolean
  /**
   * On pages, the owner can assign this type only to an existing connection, and must type the peer's name or address.
   * Types with access beyond data, such as the built-in `admin`, always need this confirmation.
   */
  readonly needsConfirmation?: boolean
  /** True for a type for AI clients and other programs. Forms for people do not offer it. */
  readonly forClients?: boolean
  /**
   * The kind whose members have this type. Their permissions come from their roles.
   *
   * @internal
   */
  readonly membersOf?: string
}

const internal = ['private/*', 'security/*', '_internal/*']
const administrative = ['delete_*', 'admin_*', 'system_*']
const credentials = ['oauth_*', 'auth_*']

const builtInTrustTypes: readonly TrustType[] = [
  {
    name: 'admin',
    display_name: 'Administrator',
    description: 'Reads, changes and deletes all data, and manages the actor, its relationships and its services',
    neverAutoApproved: true,
    needsConfirmation: true,
    permissions: {
      properties: { patterns: ['*'], operations: ['read', 'write', 'delete'] },
      files: { patterns: ['*'], operations: ['read', 'write', 'delete'] },
      methods: { allowed: ['*'] },
      actions: { allowed: ['*'] },
      tools: { allowed: ['*'] },
      resources: { patterns: ['*'], operations: ['read', 'write', 'delete'] },
      prompts: { allowed: ['*'] },
    },
  },
  {
    name: 'api_key',
    display_name: 'API key',
    description: 'A program or device with a key. It may do what the key grants',
    forClients: true,
    permissions: {},
  },
  {
    name: 'associate',
    display_name: 'Associate',
    description: 'Reads what is public, and calls methods such as get_*',
    permissions: {
      properties: { patterns: ['public/*'], operations: ['read'] },
      methods: { allowed: ['get_*', 'ping'], denied: administrative },
      actions: { denied: ['*'] },
      tools: { denied: ['*'] },
      resources: { patterns: ['public/*'], operations: ['read'] },
    },
  },
  {
    name: 'friend',
    display_name: 'Friend',
    description: 'Reads and changes what is not private, and calls methods and actions',
    permissions: {
      properties: { patterns: ['*'], operations: ['read', 'write'], excluded_patterns: internal },
      methods: { allowed: ['*'], denied: administrative },
      actions: { allowed: ['*'], denied: administrative },
      tools: { allowed: ['*'], denied: ['admin_*', 'system_*'] },
      resources: { patterns: ['*'], operations: ['read', 'write'], excluded_patterns: ['private/*', 'security/*'] },
    },
  },
  {
    name: 'mcp_client',
    display_name: 'MCP Client (AI Assistant)',
    description: 'An AI assistant that acts for the owner',
    forClients: true,
    permissions: {
      properties: {
        patterns: ['public/*', 'shared/*', 'notes/*', 'profile/*'],
        operations: ['read'],
        excluded_patterns: [...internal, ...credentials],
      },
      methods: { allowed: ['get_*', 'list_*', 'search_*', 'export_*'], denied: [...administrative, ...credentials] },
      actions: { allowed: ['search', 'fetch', 'export'], denied: [...administrative, ...credentials] },
      tools: {
        allowed: ['search', 'fetch', 'create_note', 'list', 'get_*', 'list_*'],
        denied: ['admin_*', 'system_*', 'delete_*', ...credentials],
      },
      resources: {
        patterns: ['public/*', 'shared/*', 'notes://*', 'usage://*', 'actingweb://properties/all'],
        operations: ['read'],
        excluded_patterns: ['private/*', 'security/*', 'oauth://*', 'auth://*'],
      },
      prompts: { allowed: ['analyze_*', 'create_*', 'summarize_*', 'generate_*'] },
    },
  },
  {
    name: 'partner',
    display_name: 'Partner',
    description: 'Reads and changes what is not internal, and calls methods and actions',
    permissions: {
      properties: { patterns: ['*'], operations: ['read', 'write'], excluded_patterns: ['_internal/*'] },
      methods: { allowed: ['*'], denied: ['admin_*', 'system_*'] },
      actions: { allowed: ['*'], denied: ['admin_*', 'system_*'] },
      tools: { allowed: ['*'], denied: ['admin_*', 'system_*'] },
      resources: { patterns: ['*'], operations: ['read', 'write'], excluded_patterns: ['security/*'] },
    },
  },
  {
    name: 'viewer',
    display_name: 'Viewer',
    description: 'Reads what is public or shared, and calls methods such as get_*',
    permissions: {
      properties: { patterns: ['public/*', 'shared/*'], operations: ['read'] },
      methods: { allowed: ['get_*', 'list_*', 'export_*'], denied: ['delete_*', 'admin_*'] },
      actions: { denied: ['*'] },
      tools: { denied: ['*'] },
      resources: { patterns: ['public/*'], operations: ['read'] },
    },
  },
]

/** The built-in and declared types. A declared type replaces a built-in type with the same name. */
export class TrustTypes {
  readonly #byName: ReadonlyMap<string, TrustType>

  constructor(declared: readonly TrustType[]) {
    this.#byName = new Map([...builtInTrustTypes, ...declared].map((type) => [type.name, type]))
  }

  /** All types, sorted by name. */
  all(): readonly TrustType[] {
    return [...this.#byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The type with this name. Undefined for an unknown name, which grants nothing by itself. */
  find(name: string): TrustType | undefined {
    return this.#byName.get(name)
  }

  /** True when the owner must confirm by typing before a page assigns this type to a peer. */
  needsConfirmation(name: string): boolean {
    return reachesBeyondData(name) || this.#byName.get(name)?.needsConfirmation === true
  }

  /** True for the type of the members of a group of this kind. Their permissions come from their roles. */
  isOfMembers(name: string, { kind }: { readonly kind: string }): boolean {
    return this.#byName.get(name)?.membersOf === kind
  }

  /** True for a kind of groups, whose members have a trust type. */
  hasMembers({ kind }: { readonly kind: string }): boolean {
    return [...this.#byName.values()].some(({ membersOf }) => membersOf === kind)
  }

  /** Whether a change of the type would begin or end a membership, whose permissions are those of a role. */
  changesMembership(before: string, after: string, group: { readonly kind: string }): boolean {
    return before !== after && (this.isOfMembers(before, group) || this.isOfMembers(after, group))
  }

  isBuiltIn(name: string): boolean {
    return builtInTrustTypes.some((type) => type === this.#byName.get(name))
  }
}
