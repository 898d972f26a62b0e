/** Supported MCP protocol versions, shared by the MCP endpoint and the discovery documents. */
export const supportedVersionTexts = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
