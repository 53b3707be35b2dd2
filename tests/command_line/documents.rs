//! The papers say what the program does: tables are compared with the code, blocks are checked, built and run, links lead
//! somewhere.
//!
//! What is prose is for people to check.

mod blocks;
mod compiling;
mod configuration;
mod dead_letters;
mod links;
mod markdown;
mod operating;
mod plugins;
mod source;
mod status;
