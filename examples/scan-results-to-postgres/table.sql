create table scan_results (
    purl text not null,
    scanner text not null,
    finished_at timestamptz not null,
    findings integer not null check (findings >= 0),
    worst_score numeric(3, 1),
    result jsonb not null,
    primary key (purl, scanner)
)
